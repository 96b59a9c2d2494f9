"""The names that language templates show for a code."""

from __future__ import annotations

from importlib.resources import files

from wikitext_builder.extraction.listing import listed

# Codes and names of ISO 639-1, -2, -3 and -5 (iso-codes 4, 7,758 codes), without the ones below.
_ISO_639 = (files("wikitext_builder.extraction.macros") / "languages.tsv").read_text(encoding="utf-8")
# English names of ISO 639 codes and of the private codes that {{lang-…}} had in 2016.
LANGUAGE_NAMES: dict[str, str] = dict(line.split("\t") for line in _ISO_639.splitlines()) | dict(
    pair.split("=")
    for pair in listed(
        """
aa=Afar; ab=Abkhazian; ae=Avestan; af=Afrikaans; ain=Ainu; ak=Akan; akk=Akkadian; als=Alemannic
German; am=Amharic; an=Aragonese; ang=Old English; ar=Arabic; arc=Aramaic; arz=Egyptian Arabic;
as=Assamese; ast=Asturian; av=Avar; ay=Aymara; az=Azerbaijani; azb=South Azerbaijani; ba=Bashkir;
ban=Balinese; bar=Bavarian; be=Belarusian; be-tarask=Belarusian (Taraškievica); ber=Berber;
bg=Bulgarian; bho=Bhojpuri; bi=Bislama; bm=Bambara; bn=Bengali; bo=Tibetan; br=Breton; bs=Bosnian;
bua=Buryat; ca=Catalan; ce=Chechen; ceb=Cebuano; ch=Chamorro; chr=Cherokee; ckb=Central Kurdish;
cmn=Mandarin; co=Corsican; cop=Coptic; cr=Cree; crh=Crimean Tatar; cs=Czech; csb=Kashubian; cu=Old
Church Slavonic; cv=Chuvash; cy=Welsh; da=Danish; de=German; de-AT=Austrian German; de-CH=Swiss
Standard German; dsb=Lower Sorbian; dv=Dhivehi; dz=Dzongkha; egy=Egyptian; el=Greek; en=English;
enm=Middle English; eo=Esperanto; es=Spanish; et=Estonian; ett=Etruscan; eu=Basque; fa=Persian;
ff=Fula; fi=Finnish; fil=Filipino; fj=Fijian; fo=Faroese; fr=French; frm=Middle French; fro=Old
French; frp=Franco-Provençal; fur=Friulian; fy=West Frisian; ga=Irish; gd=Scottish Gaelic;
gez=Ge'ez; gl=Galician; gmh=Middle High German; gn=Guarani; goh=Old High German; got=Gothic;
grc=Ancient Greek; gsw=Swiss German; gu=Gujarati; gv=Manx; ha=Hausa; hak=Hakka Chinese;
haw=Hawaiian; he=Hebrew; hi=Hindi; hit=Hittite; hr=Croatian; hsb=Upper Sorbian; ht=Haitian Creole;
hu=Hungarian; hy=Armenian; ia=Interlingua; id=Indonesian; ie=Interlingue; ig=Igbo; ilo=Ilocano;
io=Ido; is=Icelandic; it=Italian; iu=Inuktitut; ja=Japanese; jv=Javanese; ka=Georgian; kab=Kabyle;
kk=Kazakh; kl=Greenlandic; km=Khmer; kn=Kannada; ko=Korean; krc=Karachay-Balkar; ks=Kashmiri;
ksh=Kölsch; ku=Kurdish; kv=Komi; kw=Cornish; ky=Kyrgyz; la=Latin; lad=Ladino; lb=Luxembourgish;
lez=Lezgian; lg=Luganda; li=Limburgish; lij=Ligurian; lld=Ladin; lmo=Lombard; ln=Lingala; lo=Lao;
lt=Lithuanian; lv=Latvian; lzh=Literary Chinese; mai=Maithili; mg=Malagasy; mi=Māori;
mk=Macedonian; ml=Malayalam; mn=Mongolian; mnc=Manchu; mr=Marathi; ms=Malay; mt=Maltese;
mwl=Mirandese; my=Burmese; nah=Nahuatl; nan=Southern Min; nap=Neapolitan; nb=Norwegian Bokmål;
nds=Low German; ne=Nepali; new=Newar; nl=Dutch; nn=Norwegian Nynorsk; no=Norwegian; non=Old Norse;
nv=Navajo; oc=Occitan; oj=Ojibwe; om=Oromo; or=Odia; os=Ossetian; osp=Old Spanish; ota=Ottoman
Turkish; pa=Punjabi; pal=Middle Persian; pam=Kapampangan; pap=Papiamento; pdc=Pennsylvania German;
peo=Old Persian; phn=Phoenician; pi=Pali; pl=Polish; pms=Piedmontese; pnb=Western Punjabi;
ps=Pashto; pt=Portuguese; pt-BR=Brazilian Portuguese; qu=Quechua; rm=Romansh; ro=Romanian;
roa-tara=Tarantino; rom=Romani; ru=Russian; rue=Rusyn; rup=Aromanian; rw=Kinyarwanda; sa=Sanskrit;
sah=Yakut; sc=Sardinian; scn=Sicilian; sco=Scots; sd=Sindhi; se=Northern Sami; sga=Old Irish;
sh=Serbo-Croatian; si=Sinhala; sk=Slovak; sl=Slovene; sm=Samoan; sn=Shona; so=Somali; sq=Albanian;
sr=Serbian; ss=Swazi; st=Sotho; stq=Saterland Frisian; su=Sundanese; sux=Sumerian; sv=Swedish;
sw=Swahili; syc=Classical Syriac; syr=Syriac; szl=Silesian; ta=Tamil; te=Telugu; tet=Tetum;
tg=Tajik; th=Thai; ti=Tigrinya; tk=Turkmen; tl=Tagalog; tn=Tswana; to=Tongan; tpi=Tok Pisin;
tr=Turkish; ts=Tsonga; tt=Tatar; tw=Twi; ty=Tahitian; tyv=Tuvan; ug=Uyghur; uk=Ukrainian; ur=Urdu;
uz=Uzbek; ve=Venda; vec=Venetian; vi=Vietnamese; vls=West Flemish; vo=Volapük; wa=Walloon;
war=Waray; wo=Wolof; wuu=Wu Chinese; xh=Xhosa; xno=Anglo-Norman; yi=Yiddish; yo=Yoruba;
yua=Yucatec Maya; yue=Cantonese; za=Zhuang; zh=Chinese; zh-Hans=Simplified Chinese;
zh-Hant=Traditional Chinese; zu=Zulu; ine-x-proto=Proto-Indo-European; gem-x-proto=Proto-Germanic;
sla-x-proto=Proto-Slavic; frk=Frankish; odt=Old Dutch; osx=Old Saxon; dum=Middle Dutch; gml=Middle
Low German; orv=Old East Slavic; xcl=Classical Armenian; oko=Old Korean; okm=Middle Korean;
ojp=Old Japanese; ryu=Okinawan; xto=Tocharian A; xpr=Parthian; uga=Ugaritic; sog=Sogdian; prg=Old
Prussian; owl=Old Welsh; wlm=Middle Welsh; obt=Old Breton; mga=Middle Irish; gmq=North Germanic;
cel=Celtic; cel-gaulish=Gaulish; xtg=Transalpine Gaulish; nrf=Norman; rn=Kirundi; ny=Chichewa;
nd=Northern Ndebele; nr=Southern Ndebele; tvl=Tuvaluan; chk=Chuukese; pau=Palauan; gil=Gilbertese;
mus=Creek; cho=Choctaw; lkt=Lakota; dak=Dakota; moh=Mohawk; ojb=Northwestern Ojibwe; ipk=Inupiaq;
kha=Khasi; lus=Mizo; mni=Meitei; sat=Santali;
aae=Arbëresh; abe=Western Abenaki; abq=Abaza; ace=Acehnese; ady=Adyghe; aii=Assyrian Neo-Aramaic;
ale=Aleut; alt=Southern Altai; aoa=Angolar; apc=Levantine Arabic; apw=Western Apache; arn=Mapuche;
arp=Arapaho; arq=Algerian Arabic; ary=Moroccan Arabic; awa=Awadhi; bal=Balochi; bcl=Central Bikol;
bew=Betawi; bhb=Bhili; bik=Bikol; bjn=Banjarese; bla=Blackfoot; brh=Brahui; brx=Bodo; bug=Buginese;
bxr=Buryat; cbk=Chavacano; cdo=Eastern Min; chg=Chagatai; chm=Mari; chn=Chinook Jargon;
chy=Cheyenne; cim=Cimbrian; ckt=Chukchi; cnx=Middle Cornish; cpg=Cappadocian Greek; crk=Plains Cree;
ddo=Tsez; din=Dinka; dlm=Dalmatian; dng=Dungan; doi=Dogri; dyu=Dyula; ee=Ewe; efi=Efik; egl=Emilian;
elx=Elamite; eml=Emilian-Romagnol; ext=Extremaduran; fan=Fang; fit=Meänkieli; fkv=Kven; frc=Cajun
French; frr=North Frisian; gaa=Ga; gan=Gan Chinese; gag=Gagauz; gcf=Antillean Creole; gkm=Medieval
Greek; gmy=Mycenaean Greek; gom=Goan Konkani; gos=Gronings; grc-x-doric=Doric Greek; hbo=Biblical
Hebrew; hil=Hiligaynon; hmn=Hmong; hns=Hindustani; ho=Hiri Motu; hsn=Xiang Chinese; hz=Herero;
iba=Iban; ibb=Ibibio; ii=Nuosu; ik=Inupiaq; inh=Ingush; ist=Istriot; izh=Ingrian; jam=Jamaican
Patois; jbo=Lojban; kaa=Karakalpak; kbd=Kabardian; kbp=Kabiye; kcg=Tyap; kg=Kongo; ki=Kikuyu;
kj=Kwanyama; kjh=Khakas; koi=Komi-Permyak; kok=Konkani; kr=Kanuri; kri=Krio; krl=Karelian;
kum=Kumyk; la-x-medieval=Medieval Latin; lbe=Lak; liv=Livonian; lou=Louisiana Creole; ltg=Latgalian;
lu=Luba-Katanga; lua=Luba-Kasai; luo=Luo; lzz=Laz; mad=Madurese; mag=Magahi; mak=Makassarese;
mdf=Moksha; mfe=Mauritian Creole; mh=Marshallese; mhr=Meadow Mari; min=Minangkabau; mnw=Mon;
mos=Mossi; mrj=Hill Mari; mxi=Mozarabic; myv=Erzya; na=Nauruan; nds-NL=Dutch Low Saxon; ng=Ndonga;
nia=Nias; niu=Niuean; nog=Nogai; nso=Northern Sotho; och=Old Chinese; oco=Old Cornish; ofs=Old
Frisian; olo=Livvi-Karelian; osc=Oscan; otk=Old Turkic; pag=Pangasinan; pcd=Picard;
pdt=Plautdietsch; pfl=Palatine German; pnt=Pontic Greek; rap=Rapa Nui; rar=Cook Islands Māori;
rcf=Réunion Creole; rgn=Romagnol; rif=Riffian; rmy=Vlax Romani; ruo=Istro-Romanian;
ruq=Megleno-Romanian; rys=Yaeyama; sdc=Sassarese; sdn=Gallurese; sg=Sango; sgs=Samogitian;
shi=Shilha; sjd=Kildin Sami; sma=Southern Sami; smj=Lule Sami; smn=Inari Sami; sms=Skolt Sami;
srn=Sranan Tongo; srr=Serer; swg=Swabian; tcy=Tulu; tkl=Tokelauan; tlh=Klingon; tum=Tumbuka;
tzm=Central Atlas Tamazight; udm=Udmurt; uby=Ubykh; umb=Umbundu; vep=Veps; vot=Votic; vro=Võro;
wae=Walser; xaa=Andalusi Arabic; xal=Kalmyk; xbm=Middle Breton; xct=Classical Tibetan;
xmf=Mingrelian; yrk=Nenets; zea=Zeelandic; zgh=Standard Moroccan Amazigh; gem=Germanic; sla=Slavic;
roa=Romance; trk=Turkic
"""
    )
)
